"""How each documented command is executed and what is looked at: the first rule whose pattern is the whole command."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.commands import outside, reading, training
from tests.commands.documented import Command
from tests.commands.workplace import Workplace

Check = Callable[[Workplace, Command], None]


@dataclass(frozen=True)
class Rule:
    """A pattern for commands and what executes them."""

    pattern: str
    check: Check
    slow: bool = False
    """Whether it takes more than a few seconds."""
    together: bool = False
    """Whether the commands are lines of one session: the check types all of them, once."""

    def fits(self, command: Command) -> bool:
        """Whether the pattern is the whole command."""
        return re.fullmatch(self.pattern, command.text, re.S) is not None


WITHOUT_GPU = Rule(r"ablations .* --devices cuda.*", reading.refuses_cuda)
"""What needs a GPU cannot be done here; that it is refused, in one line, can be seen."""
STUDY = r"[a-z][\w-]*"
SET = r"(?: --set \S+)*"
BENCHMARK = r"(?:OMP_NUM_THREADS=1 )?(?:\.venv/bin/)?python tests/benchmarks/"

RULES = [
    WITHOUT_GPU,
    # what there is
    Rule(r"ablations list (studies|components|tasks|claims)(?: --json)?", reading.lists),
    Rule(r"ablations explain [\w-]+", reading.explains),
    Rule(r"ablations train (?:--task\.name \w+ )?--help", reading.documents_every_field),
    Rule(r"(?:\.venv/bin/)?ablations(?: [a-z]+)?(?: --help)?", reading.helps),
    # what is planned, and what has come of it
    Rule(r"ablations plan \S+ --power(?: [\d.]+)?", reading.tells_the_power, slow=True),
    Rule(rf"ablations plan {STUDY}(?: --(?:set|seeds|devices) \S+)*", reading.plans, slow=True),
    Rule(r"(?:\.venv/bin/)?ablations status quick", reading.counts_states),
    Rule(r"ablations clean quick(?: --remove [\w,]+)?", reading.cleans),
    Rule(r"runs/STUDY/.*", reading.disk),
    Rule(r"ablations report quick(?: --open| --watch)?", reading.reports),
    Rule(r"ablations record (?:quick|STUDY)(?: --into \w+)?", reading.records),
    Rule(r"ablations record docs/results/STUDY", reading.renews),
    Rule(r"(?:\.venv/bin/)?python -m ablations\.blocks(?: --check)?", reading.fills_blocks, slow=True),
    Rule(rf"ablations report {STUDY} {STUDY}|ablations report A B", reading.compares),
    Rule(r"(?:\.venv/bin/)?python -m ablations\.handbook(?: --check)?", reading.handbook, slow=True),
    Rule(rf"ablations claims {STUDY}", reading.judges, slow=True),
    Rule(r"ablations translate RUN < source\.txt", reading.translates),
    Rule(r"ablations attention RUN .*", reading.draws_attention),
    Rule(r"ablations dashboard \S+(?: --open)?", reading.dashboard, slow=True),
    # training
    Rule(r"ablations run quick", training.quick),
    Rule(r"ablations run STUDY", training.any_study),
    Rule(r"ablations run quick --seeds \d+", training.more_seeds, slow=True),
    Rule(r"ablations run STUDY --redo", training.again, slow=True),
    Rule(rf"ablations run {STUDY} --comparison tuned,matched", training.compared, slow=True),
    Rule(r"ablations run \S+ --until-resolved", training.until_resolved, slow=True),
    Rule(r"ablations run \S+ --pilot \d+", training.pilot, slow=True),
    Rule(r"ablations run quick --(devices cpu|per-device|timeout|set train\.).*", training.in_places, slow=True),
    Rule(r"CUDA_VISIBLE_DEVICES=\S+ ablations run quick", reading.falls_to_the_cpu, slow=True),
    Rule(r"ablations run mine\.yaml(?: --tensorboard)?", training.mine, slow=True),
    Rule(r"ablations run docs/results/[\w-]+/study\.yaml", training.of_record, slow=True),
    Rule(r"ablations run quick --executor ray", outside.on_ray, slow=True),
    Rule(r"ablations run multi30k-quick --set task\.root=path/to/multi30k", training.with_data, slow=True),
    Rule(rf"ablations run {STUDY}{SET}", training.shipped, slow=True),
    Rule(r"ablations tune mine\.yaml(?: --storage postgresql://\S+)?", training.tunes, slow=True),
    Rule(r"ablations train --task\.name .*", training.trains),
    # other programs
    Rule(r"make [a-z-]+(?: RESULTS=[\w-]+)?", outside.makes),
    Rule(r"pip install -e '\.\[\w+\]'(?: -c requirements\.lock)?", outside.would_install, slow=True),
    Rule(r"apt install \w+", outside.packaged),
    Rule(r"\.venv/bin/pre-commit install", outside.hooks),
    Rule(r"chromium --headless .*", outside.screenshot),
    Rule(r'python -c "import torch; print\(torch\.cuda\.device_count\(\)\)"', outside.counts_gpus, slow=True),
    Rule(r"\.venv/bin/python -m pytest tests/gpu", outside.collects, slow=True),
    Rule(r"\.venv/bin/python -m pytest tests/.* -k NAME", outside.tests_a_value, slow=True),
    Rule(r"(?:\.venv/bin/)?python tests/gpu/throughput\.py", outside.packs, slow=True),
    Rule(r"#!/bin/bash\n#SBATCH .*", outside.script_of_an_array, slow=True),
    Rule(r"(?:job=\$\()?sbatch --.*", outside.submits, slow=True, together=True),
    Rule(
        r"ray get-auth-token --generate|chmod 600|ray start.*|RAY_ADDRESS=HEAD:6379 ablations run .*",
        outside.on_a_cluster,
        slow=True,
        together=True,
    ),
    Rule(rf"{BENCHMARK}(?:looks|coverage)\.py", outside.simulates, slow=True),
    Rule(rf"{BENCHMARK}startup\.py", outside.starts, slow=True),
    Rule(rf"{BENCHMARK}report\.py --study runs/quick", outside.measures_the_report, slow=True),
    Rule(rf"{BENCHMARK}runner\.py loop\|setup\|sweep\|threads", outside.times_the_runner, slow=True),
    Rule(rf"{BENCHMARK}translation(?:_profile)?\.py(?: --run RUN)?", outside.has_help, slow=True),
]


def rule_of(command: Command) -> Rule | None:
    """The first rule that fits, if there is one."""
    return next((rule for rule in RULES if rule.fits(command)), None)
