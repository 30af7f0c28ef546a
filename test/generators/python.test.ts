import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { follow, isInstalled, runSuccessfully, writeProgram } from './guide.ts'

const hasPython = isInstalled(['python3', '-c', 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10)'])

test(
  'openapi-python-client: every module imports, and the functions sign in and list wallets',
  needs(hasPython, 'Python 3.10 is not installed'),
  async () => {
    const { folder, printed } = await follow('Python')
    expect(printed).not.toMatch(/WARNING|ERROR|Unable/)
    const models = await readdir(join(folder, 'portico_client/models'))
    expect(models.length).toBeGreaterThan(200)
    expect(models.length).toBeLessThan(500)
    const python = '.venv/bin/python'
    await runSuccessfully(folder, [python, '-m', 'compileall', '-q', 'portico_client'])
    const importAll =
      'import importlib, pkgutil, portico_client as p\n' +
      'names = [m.name for m in pkgutil.walk_packages(p.__path__, "portico_client.")]\n' +
      'for name in names: importlib.import_module(name)\n' +
      'print(len(names))'
    const { stdout } = await runSuccessfully(folder, [python, '-c', importAll])
    expect(Number(stdout)).toBeGreaterThan(models.length)
    await writeProgram('Python', 'python', join(folder, 'wallets.py'))
    expect((await runSuccessfully(folder, [python, 'wallets.py'])).stdout).toContain('Main USD')
  },
)
