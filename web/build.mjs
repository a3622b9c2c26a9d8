// Builds the page into the package: node build.mjs [folder]. The same sources give the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = path.resolve(process.argv[2] ?? path.join(here, "../src/nbfnet/serve/static"));

await mkdir(target, { recursive: true });
const shared = { bundle: true, minify: true, legalComments: "none", charset: "utf8", absWorkingDir: here };
await build({ ...shared, entryPoints: ["src/main.js"], outfile: path.join(target, "page.js"), format: "esm", target: "es2022" });
await build({ ...shared, entryPoints: ["src/page.css"], outfile: path.join(target, "page.css") });
for (const file of ["index.html", "icon.svg"]) await copyFile(path.join(here, "src", file), path.join(target, file));
await writeFile(path.join(target, "licences.json"), JSON.stringify(await licences(), null, 1) + "\n");

// What the page contains of others: every package that is not only needed to build or to test it.
async function licences() {
  const { dependencies } = JSON.parse(await readFile(path.join(here, "package.json"), "utf8"));
  const found = [];
  for (const name of Object.keys(dependencies)) {
    const folder = path.join(here, "node_modules", name);
    const { version, license, homepage } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const text = (await readFile(path.join(folder, "LICENSE"), "utf8")).replaceAll("\r\n", "\n").trim();
    found.push({ name, version, licence: license, homepage: homepage ?? null, text });
  }
  return found;
}
