# SPDX-License-Identifier: BSD-2-Clause
"""The command under test, run as a user runs it."""
import json
import subprocess


class Failure(Exception):
    pass


class Tool:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments, status=0):
        """Runs it and returns what it said on stderr."""
        run = subprocess.run([self.path, *arguments], capture_output=True, check=False, timeout=300)
        errors = run.stderr.decode(errors='replace').splitlines()
        if run.returncode != status or (status == 0 and errors):
            raise Failure(f'{" ".join(arguments)}: exit status {run.returncode}: ' + ' | '.join(errors[-20:]))
        return errors

    def lines(self, command, capture, *options, status=0, said=None):
        """The objects of `rpcrdma COMMAND --json CAPTURE`, and what it said on stderr: where it succeeded
        one line with `said` in it, or nothing."""
        run = subprocess.run([self.path, command, '--json', *options, capture], capture_output=True,
                             check=False, timeout=300)
        errors = run.stderr.decode(errors='replace').splitlines()
        if run.returncode != status:
            raise Failure(f'{command} {capture}: exit status {run.returncode}, not {status}: '
                          + ' | '.join(errors[-20:]))
        if status == 0 and said and (len(errors) != 1 or said not in errors[0]):
            raise Failure(f'{command} {capture}: "{said}" is not the one line on stderr: {errors}')
        if status == 0 and errors and not said:
            raise Failure(f'{command} {capture}: stderr is not empty: {errors[0]}')
        out = []
        for number, line in enumerate(run.stdout.decode().splitlines(), 1):
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise Failure(f'{command} {capture}: line {number} is not JSON: {error}') from error
            if not isinstance(out[-1], dict):
                raise Failure(f'{command} {capture}: line {number} is not an object')
        return out, errors
