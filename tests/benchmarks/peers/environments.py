"""The peers' virtual environments, one each."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

TORCH = f"torch=={version('torch').partition('+')[0]}"  # the same for all; an open range may bring another build
PACKAGES = {
    "huggingface": ["transformers==5.24.0", "numpy", TORCH],
    "ctranslate": ["ctranslate2==4.8.5", "numpy"],
    "joey": [
        # what JoeyNMT asks for, without its old pin of protobuf and without linters; it imports importlib_metadata
        # without asking for it, and does not work with newer sentencepiece
        *("importlib_metadata", "sentencepiece==0.2.0", "tensorboard", "sacrebleu", "sacremoses", "subword-nmt"),
        *("matplotlib", "pandas", "packaging", "pyyaml", "tqdm", "setuptools", "numpy", TORCH),
    ],
}
WITHOUT_DEPENDENCIES = {"joey": ["joeynmt==2.3.0"]}


def python(peer: str, folder: Path) -> Path:
    """The interpreter of a peer's environment below `folder`, made if it is not there; peers without one have ours."""
    if peer not in PACKAGES:
        return Path(sys.executable)
    interpreter, done = folder / peer / "bin" / "python", folder / peer / "installed.txt"
    wanted = "\n".join([*PACKAGES[peer], *WITHOUT_DEPENDENCIES.get(peer, [])])
    if not done.is_file() or done.read_text() != wanted:
        print(f"installing {peer} into {folder / peer}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder / peer], check=True)
        pip: list[str | Path] = [interpreter, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PACKAGES[peer]], check=True)
        if peer in WITHOUT_DEPENDENCIES:
            subprocess.run([*pip, "--no-deps", *WITHOUT_DEPENDENCIES[peer]], check=True)
        done.write_text(wanted)
    return interpreter
