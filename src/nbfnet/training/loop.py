"""The training loop: epochs of steps, validations, the best network kept, a checkpoint every few minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np

from nbfnet.config import Config
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError, NbfnetError, RunFolderError, TrainingError
from nbfnet.graph.atomic import alone_in
from nbfnet.graph.graph import Dataset
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.progress import stage
from nbfnet.training.batches import mix_batches
from nbfnet.training.budget import Plan
from nbfnet.training.checkpoint import load_checkpoint, save_checkpoint
from nbfnet.training.interrupt import Interrupts, interruptible, uninterrupted
from nbfnet.training.log import Entry, Log
from nbfnet.training.pace import Pace, plan_ahead
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.step import Optimization
from nbfnet.training.validation import Validation

_WORTH_A_CHECKPOINT = 10.0  # seconds of training
Listener = Callable[[Entry], None]


def train(
    folder: RunFolder,
    dataset: Dataset | Sequence[Dataset],
    config: Config,
    *,
    held_out: Sequence[Dataset] = (),
    team: Team = ALONE,
    listener: Listener | None = None,
    stop_after: float | None = None,
) -> None:
    """Train until the configured number of epochs, or for the configured hours, from the folder's checkpoint on.

    Args:
        folder: where everything is written, by the team's leader.
        dataset: what the folder was made for; several are learned together.
        held_out: datasets to validate on instead, which are not learned from.
        config: the folder's, perhaps with another number of epochs.
        team: processes that share the work.
        listener: is told of every validation, as the log is.
        stop_after: stop after the first validation past so many hours of training in all; another call resumes.

    Raises:
        TrainingError: there is nothing to learn from, or the loss is not finite.
        RunFolderError: the folder cannot be read or written, or another process is training in it.
    """
    with _alone_in(folder) if team.leads else nullcontext():
        if team.leads and config != folder.config():
            folder.update(config=config.model_dump(mode="json"))
        datasets = [dataset] if isinstance(dataset, Dataset) else dataset
        training = _Training(folder, datasets, config, team, listener, held_out)
        try:
            with interruptible() as interrupts:
                training.run(np.inf if stop_after is None else 3600 * stop_after, interrupts)
        except KeyboardInterrupt:
            training.save()
            raise


@contextmanager
def _alone_in(folder: RunFolder) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_in(folder.path, wait=False))
        except BlockingIOError:
            remedy = "wait for it, or stop it first"
            raise RunFolderError(folder.path, "another process is training in this folder", remedy) from None
        yield


class _Training:
    def __init__(
        self,
        folder: RunFolder,
        datasets: Sequence[Dataset],
        config: Config,
        team: Team,
        listener: Listener | None,
        held_out: Sequence[Dataset],
    ) -> None:
        self.begun = time.monotonic()
        self.folder, self.dataset, self.config, self.team = folder, datasets[0], config.training, team
        self.listener = listener
        self.validation = Validation(held_out or datasets, self.config.device, team, config.sampling)
        graphs = [dataset.train for dataset in datasets]
        self.network = folder.network(self.dataset, self.config.device)  # the first one, or a checkpoint replaces it
        self.optimization = Optimization(self.network, graphs, self.config, team)
        average = self.optimization.average
        self.progress = load_checkpoint(
            folder.path,
            self.network,
            self.optimization.optimizer,
            average=None if average is None else average.network,
            training=folder.id,
        )
        if average is not None:
            average.steps = self.progress.step
        self.epochs = mix_batches(graphs, self.config, config.sampling)
        self.log = Log(folder.path, self.progress.log_bytes) if team.leads else None
        # The batches of an epoch after which there is a validation.
        validations = min(self.config.validations_per_epoch, self.epochs.length)
        self.validate_after = {-(-self.epochs.length * part // validations) for part in range(1, validations + 1)}
        self.pace = Pace(Plan(**self.progress.plan), team, self.begun) if self.progress.plan else None
        self.last_save = time.monotonic()
        self.interrupts = Interrupts()

    def run(self, seconds: float, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        if not self.progress.step:
            self.save()  # so that a folder with metrics always has a checkpoint, wherever its process was killed
        if self.config.hours is not None and self.pace is None:
            budget, steps = 3600 * self.config.hours, self.optimization
            plan = plan_ahead(budget, steps, self.epochs, self.validation, self.config, self.begun)
            self.pace = Pace(plan, self.team, self.begun)
            self.save()
        if "began_with" in self.folder.manifest and self.validation.links and not self.progress.best:
            # It may be better than all that follow. Its loss is that of the first batch.
            self._validate(self.optimization.compute_gradients(self.epochs.batch(0, 0)))
            self.save()
        # What was trained since the last validation, perhaps by a process that was killed, is validated in any case.
        while not self._is_finished() and (self.progress.links or not self._is_spent(seconds)):
            self._train_until_validation()
            if time.monotonic() - self.last_save >= _WORTH_A_CHECKPOINT:
                self.save()  # a validation may take long, and be killed
            self._validate(self.progress.loss_sum / self.progress.links)
            self.save()
        if self.pace is not None and self._is_finished() and not self.pace.plan.finished:
            self._validate_finally(self.pace)
            self.save()

    def save(self) -> None:
        """Write a checkpoint: parameters and counters always belong together between two steps."""
        if self.pace is not None:
            self.progress.plan = self.pace.state()
        if self.team.leads:
            with uninterrupted():
                state = self.optimization
                save_checkpoint(
                    self.folder.path,
                    self.network,
                    state.optimizer,
                    self.progress,
                    average=None if state.average is None else state.average.network,
                    training=self.folder.id,
                )
        self.last_save = time.monotonic()

    def _train_until_validation(self) -> None:
        progress = self.progress
        with stage("training" if self.pace else f"epoch {progress.epoch + 1}/{self.config.epochs}") as report:
            while not self._is_validation_due():
                if time.monotonic() - self.last_save >= 60 * self.config.checkpoint_minutes:
                    self.save()
                begin = time.monotonic()
                self._step()
                if self.pace is not None:
                    self.pace.review(progress.step, time.monotonic() - begin)
                report(
                    self._position(progress.step),
                    f"  loss {progress.loss_sum / progress.links:.4f}  {self._speed()}{self._best()}",
                )

    def _is_finished(self) -> bool:
        """Whether all epochs are done, or the last validations have not found a better network."""
        progress, patience = self.progress, self.config.patience
        if self.pace is not None:
            return progress.step >= self.pace.plan.steps and not progress.links
        if progress.epoch >= self.config.epochs:
            return True
        if not patience or progress.links or not progress.best.get("valid"):
            return False
        since = progress.best.get("since", progress.best["step"])  # runs of an older release do not have it
        return self._validations(progress.step) - self._validations(since) >= patience

    def _validations(self, step: int) -> int:
        """How many validations there have been after so many steps."""
        epochs, batch = divmod(step, self.epochs.length)
        return epochs * len(self.validate_after) + sum(after <= batch for after in self.validate_after)

    def _is_spent(self, seconds: float) -> bool:
        """Whether the leader, whose clock counts for the team, has trained so long."""
        spent = np.array([int(self.team.leads and self.progress.seconds >= seconds)])
        self.team.add_counts(spent)
        return bool(spent)

    def _is_validation_due(self) -> bool:
        """Also where a training resumes that was interrupted while it validated."""
        if self.pace is not None:
            return self.pace.plan.is_validation_due(self.progress.step) and self.progress.links > 0
        return self.progress.batch in self.validate_after and self.progress.links > 0

    def _step(self) -> None:
        begin, progress = time.monotonic(), self.progress
        epoch, number = progress.epoch, progress.batch
        if number == self.epochs.length:  # an epoch that did not end with a validation
            epoch, number = epoch + 1, 0
        batch = self.epochs.batch(epoch, number)
        position = self._position(progress.step + 0.5)
        try:
            loss = self.optimization.compute_gradients(batch)
            self.interrupts.raise_asked()  # so that an error within a step is never taken for an interrupt between two
            with uninterrupted():
                self.optimization.take_step(position)
                progress.epoch, progress.batch, progress.step = epoch, number + 1, progress.step + 1
                progress.loss_sum, progress.links = progress.loss_sum + loss * batch.links, progress.links + batch.links
                progress.seconds += time.monotonic() - begin
        except TrainingError as error:
            at = f"epoch {epoch + 1}, batch {number + 1} (step {progress.step + 1})"
            raise self._diverged(at, error) from None

    def _validate(self, loss: float) -> None:
        begin = time.monotonic()
        links = self._validation_links()
        metrics = self._metrics(self.optimization.result, links)
        seconds = time.monotonic() - begin
        entry = {
            "epoch": self._epochs_done(),
            "step": self.progress.step,
            "loss": loss,
            "valid": metrics,
            "links": links,
            "training_seconds": self.progress.seconds,
            "validation_seconds": seconds,
        }
        self.interrupts.raise_asked()
        with uninterrupted():
            self._record(entry)
            if self.pace is not None:
                self.pace.plan.observe_validation(seconds, links)

    def _validate_finally(self, pace: Pace) -> None:
        """Validate the chosen network on all valid links, where it was chosen by a sample of them."""
        links = pace.final_links()  # all wait here until the leader has written the network
        begin, best = time.monotonic(), self.progress.best
        if links <= pace.plan.sample:
            pace.plan.finished = True
            return
        metrics = self._metrics(self.folder.network(self.dataset, self.config.device), links)
        chosen = {"epoch": best["epoch"], "step": best["step"], "valid": metrics}
        entry = {
            **chosen,
            "loss": best["loss"],
            "links": links,
            "training_seconds": self.progress.seconds,
            "validation_seconds": time.monotonic() - begin,
        }
        self.interrupts.raise_asked()
        with uninterrupted():
            if self.team.leads:
                self.folder.update(metrics=chosen)
            self._tell(entry)
            pace.plan.finished = True

    def _record(self, entry: Entry) -> None:
        """Keep a validation's outcome; a process killed within leaves files that are written again, the same."""
        progress, name = self.progress, self.validation.metric
        metrics, best = entry["valid"], progress.best.get("valid", {})
        # Where few valid links tie, the network that was trained longer is kept.
        if not metrics or not best or metrics[name] >= best[name]:
            chosen = {key: entry[key] for key in ("epoch", "step", "valid")}
            tied = metrics and best and metrics[name] == best[name]
            progress.best = {
                **chosen,
                "loss": entry["loss"],
                "since": progress.best.get("since", 0) if tied else entry["step"],
            }
            if self.team.leads:
                self.folder.write_network(self.optimization.result, entry["epoch"])
                self.folder.update(metrics=chosen)
        self._tell(entry)
        progress.loss_sum, progress.links = 0.0, 0
        if progress.batch == self.epochs.length:
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _tell(self, entry: Entry) -> None:
        if self.log is not None:
            self.progress.log_bytes = self.log.append(entry)
            if self.listener is not None:
                self.listener(entry)

    def _validation_links(self) -> int:
        valid = self.validation.links
        sample = self.config.validation_sample if self.pace is None else self.pace.plan.sample
        return valid if sample is None else min(sample, valid)

    def _metrics(self, network: NeuralBellmanFordNetwork, links: int) -> dict[str, float]:
        try:
            return self.validation.metrics(network, links)
        except EvaluationError as error:
            at = f"validation after epoch {self._epochs_done():.4g}, batch {self.progress.batch} "
            raise self._diverged(f"{at}(step {self.progress.step})", error) from None

    def _position(self, step: float) -> float:
        """Where a step stands among the planned ones, from 0 to 1."""
        if self.pace is not None:
            return self.pace.plan.position(step)
        return min(1.0, step / (self.config.epochs * self.epochs.length))

    def _diverged(self, at: str, error: NbfnetError) -> TrainingError:
        return TrainingError(
            f"{at}: {error}; training has stopped, the last good checkpoint and the best network are kept; begin again "
            f"with a lower learning rate, for example --set training.learning_rate={self.config.learning_rate / 2:g}"
        )

    def _epochs_done(self) -> float:
        return self.progress.epoch + self.progress.batch / self.epochs.length

    def _speed(self) -> str:
        speed = self.progress.step * self.config.batch_size / max(self.progress.seconds, 1e-9)
        return f"{speed:,.0f} queries/s" if speed >= 10 else f"{speed:.2f} queries/s"

    def _best(self) -> str:
        name = self.validation.metric
        best = self.progress.best.get("valid")
        return f"  {name} {best[name]:.4f}" if best else ""
