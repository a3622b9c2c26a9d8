"""Configurations: what they accept, what they say about the rest, and who overrules whom."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from nbfnet.config import Config, make_config, parse_settings, read_toml
from nbfnet.errors import ConfigError


def refused(*settings, **options):
    with pytest.raises(ConfigError) as caught:
        make_config(parse_settings(settings), **options)
    return str(caught.value)


def test_the_defaults_are_the_papers():
    config = make_config()
    assert config == Config()
    assert (config.model.dim, config.model.layers, config.model.hidden) == (32, 6, (64,))
    assert (config.model.message, config.model.aggregate) == ("distmult", "pna")
    assert (config.training.epochs, config.training.negatives, config.training.learning_rate) == (20, 32, 5e-3)


def test_a_configuration_is_frozen():
    with pytest.raises(ValidationError):
        make_config().model.layers = 3


SETTINGS = [
    ("model.layers=4", "model", "layers", 4),
    ("model.layers = 4", "model", "layers", 4),
    ("model.message=transe", "model", "message", "transe"),
    ('model.message="transe"', "model", "message", "transe"),
    ("model.hidden=[64, 32]", "model", "hidden", (64, 32)),
    ("model.hidden=[]", "model", "hidden", ()),
    ("model.symmetric=true", "model", "symmetric", True),
    ("model.layer_norm=false", "model", "layer_norm", False),
    ("model.edges=independent", "model", "edges", "independent"),
    ("training.temperature=none", "training", "temperature", None),
    ("training.temperature=0.5", "training", "temperature", 0.5),
    ("training.temperature=1", "training", "temperature", 1.0),
    ("training.learning_rate=1e-3", "training", "learning_rate", 1e-3),
    ("training.validation_sample=none", "training", "validation_sample", None),
    ("training.validation_sample=7", "training", "validation_sample", 7),
    ("training.epochs=0", "training", "epochs", 0),
    ("training.device=cuda:1", "training", "device", "cuda:1"),
    ("model={layers = 4, dim = 8}", "model", "dim", 8),
]


@pytest.mark.parametrize(("setting", "section", "key", "value"), SETTINGS)
def test_settings_of_every_type(setting, section, key, value):
    got = getattr(getattr(make_config(parse_settings([setting])), section), key)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize("setting", ["model.layers", "model.layers=", "=4", " = ", "", "model.layers= "])
def test_a_setting_that_is_none(setting):
    assert "write a key and a value" in refused(setting)


def test_several_settings_where_the_last_one_counts():
    table = parse_settings(["model.layers=4", "training.seed=3", "model.dim=8", "model.layers=5"])
    assert table == {"model": {"layers": 5, "dim": 8}, "training": {"seed": 3}}


@pytest.mark.parametrize(
    ("setting", "suggestion"),
    [
        ("model.layer=3", "'model.layers'"),
        ("model.symetric=true", "'model.symmetric'"),
        ("training.learningrate=1", "'training.learning_rate'"),
        ("training.epoch=1", "'training.epochs'"),
        ("trainning.epochs=1", "'training'"),
        ("model.epochs=1", "'training.epochs'"),
        ("layers=3", "'model.layers'"),
        ("seed=3", "'training.seed'"),
    ],
)
def test_an_unknown_key_with_the_closest_known_one(setting, suggestion):
    key = setting.partition("=")[0].partition(".epochs")[0] if "trainning" in setting else setting.partition("=")[0]
    assert refused(setting) == f"configuration: unknown key {key!r}; did you mean {suggestion}?"


def test_an_unknown_key_that_is_like_none():
    assert refused("zzz=3") == "configuration: unknown key 'zzz'; known are model, training, sampling, experiment"
    message = refused("model.zzz=3")
    assert "unknown key 'model.zzz'; known are kind, dim, layers, message" in message


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("model.layers=many", ["model.layers = 'many'", "valid integer"]),
        ("model.layers=true", ["model.layers = True", "valid integer"]),
        ('model.layers="4"', ["model.layers = '4'", "valid integer"]),
        ("model.layers=4.5", ["model.layers = 4.5", "valid integer"]),
        ("model.layers=none", ["model.layers = None", "valid integer"]),
        ("model.layers=0", ["model.layers = 0", "greater than or equal to 1"]),
        ("model.layers=101", ["model.layers = 101", "less than or equal to 100"]),
        ("model.dim=-4", ["model.dim = -4", "greater than or equal to 1"]),
        ("model.hidden=64", ["model.hidden = 64", "valid tuple"]),
        ("model.hidden=[64, 0]", ["model.hidden.1 = 0", "greater than or equal to 1"]),
        ("model.symmetric=1", ["model.symmetric = 1", "valid boolean"]),
        ("model.symmetric=yes", ["model.symmetric = 'yes'", "valid boolean"]),
        ("model.message=3", ["model.message = 3", "valid string"]),
        ("model.edges=dependant", ["model.edges = 'dependant'", "'relational', 'factorised' or 'alternating'"]),
        ("model.frontier=on", ["model.frontier = 'on'", "'auto' or 'off'"]),
        ("model.dim=100000000000000000000", ["model.dim = 100000000000000000000", "less than 2147483648"]),
        ("training.epochs=-1", ["training.epochs = -1", "greater than or equal to 0"]),
        ("training.temperature=0", ["training.temperature = 0", "greater than or equal to 0.000001"]),
        ("training.temperature=inf", ["training.temperature = inf", "finite"]),
        ("training.learning_rate=nan", ["training.learning_rate = nan"]),
        ("training.learning_rate=1e39", ["training.learning_rate = 1e+39", "less than or equal to"]),
        ("training.learning_rate=0", ["training.learning_rate = 0", "greater than 0"]),
        ("training.hiding=none", ["training.hiding = None", "'triplet' or 'pair'"]),
        ("training.seed=9223372036854775808", ["training.seed", "less than"]),
        ("training.checkpoint_minutes=0", ["training.checkpoint_minutes = 0", "greater than 0"]),
        ("training.validation_sample=0", ["training.validation_sample = 0", "greater than or equal to 1"]),
        ("model=3", ["model = 3", "dictionary"]),
        ("model.layers.deep=3", ["model.layers = {'deep': 3}", "valid integer"]),
        ("experiment.source=wn18rr", ["the key 'experiment.table' is missing", "'experiment.paper' is missing"]),
    ],
)
def test_wrong_types_and_ranges_are_named(setting, parts):
    message = refused(setting)
    assert all(part in message for part in parts), message


def test_every_fault_has_its_line():
    message = refused("model.layers=0", "training.epochs=-1", "model.bogus=1", origin="my.toml")
    assert len(message.splitlines()) == 3
    assert all(line.startswith("my.toml: ") for line in message.splitlines())


def test_later_tables_overrule_earlier_ones_key_by_key():
    first = {"model": {"layers": 2, "dim": 8}, "training": {"seed": 1, "temperature": 0.5}}
    second = {"model": {"layers": 3}, "training": {"temperature": None}}
    config = make_config(first, second)
    assert (config.model.layers, config.model.dim) == (3, 8)
    assert (config.training.seed, config.training.temperature) == (1, None)
    assert first == {"model": {"layers": 2, "dim": 8}, "training": {"seed": 1, "temperature": 0.5}}


def test_merging_leaves_what_was_given_alone():
    published = {"experiment": {"source": "a", "table": "t", "paper": {"mrr": 0.5}}}
    config = make_config(published, {"experiment": {"paper": {"mr": 3}}})
    assert config.experiment.paper == {"mrr": 0.5, "mr": 3.0}
    assert published["experiment"]["paper"] == {"mrr": 0.5}
    assert make_config({"experiment": None}, published).experiment.paper == {"mrr": 0.5}


def test_a_value_where_a_table_should_be():
    with pytest.raises(ConfigError, match="training = 3: this is a table"):
        make_config({"training": 3}, {"training": {"epochs": 2}})


def test_a_configuration_survives_as_data():
    config = make_config(
        parse_settings(["model.hidden=[3, 4]", "training.temperature=0.5", "training.validation_sample=9"]),
        {"experiment": {"source": "a", "table": "t", "seeds": [1, 2], "paper": {"mrr": 1}}},
    )
    assert make_config(config.model_dump(mode="json")) == config


def test_files(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[model]\nlayers = 3\nmessage = "größer"\n', encoding="utf-8")
    assert read_toml(file) == {"model": {"layers": 3, "message": "größer"}}
    for content in (b"layers = ", b"\xff\xfe", b"[model]\nlayers = 1\nlayers = 2\n", b"\x00"):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=r"a\.toml: this is not TOML"):
            read_toml(file)
    for path in (tmp_path / "gone.toml", tmp_path):
        with pytest.raises(ConfigError, match="give a TOML file"):
            read_toml(path)


@pytest.mark.parametrize(
    "setting",
    [
        "model.layers=4\nhidden=3",
        "model.layers=4\n[training]\nseed=1",
        "model.message=trans\ne",
        'model.message="""a\nb"""',
    ],
)
def test_a_value_of_several_lines_is_refused(setting):
    """The second line was dropped without a word."""
    with pytest.raises(ConfigError, match="a value is one line"):
        parse_settings([setting])


def test_a_list_may_have_several_lines():
    assert parse_settings(["model.hidden=[4,\n 8]"]) == {"model": {"hidden": [4, 8]}}
