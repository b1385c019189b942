"""`tamis warm`: compile the kernels of the default engine once, so that nothing later waits for them."""

import time

import typer


def warm() -> None:
    """Compile the default engine's kernels and keep them on disk; takes a minute the first time, a second after.

    \b
    Example:
      tamis warm
    """
    from tamis.arrays.jit import cache_root
    from tamis.matcher.warm import warm as compile_all

    started = time.perf_counter()
    compile_all(lambda text: typer.echo(f"tamis: {text}", err=True))
    typer.echo(f"tamis: kernels are ready in {cache_root()} ({time.perf_counter() - started:.1f} s)", err=True)
