import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { expectTransfer, follow, isInstalled, runSuccessfully, type Section, writeProgram } from './guide.ts'

const hasPython = isInstalled(['python3', '-c', 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10)'])
const hasJava = isInstalled(['java', '-version'])
const python = '.venv/bin/python'

/** Imports every module of the package, runs the program of the section, and returns the number of models. */
async function check({ folder }: Section, heading: string, packageFolder: string): Promise<number> {
  const models = await readdir(join(folder, packageFolder, 'models'))
  await runSuccessfully(folder, [python, '-m', 'compileall', '-q', packageFolder])
  const importAll =
    'import importlib, pkgutil, portico_client as p\n' +
    'names = [m.name for m in pkgutil.walk_packages(p.__path__, "portico_client.")]\n' +
    'for name in names: importlib.import_module(name)\n' +
    'print(len(names))'
  const { stdout } = await runSuccessfully(folder, [python, '-c', importAll])
  expect(Number(stdout)).toBeGreaterThan(models.length)
  await writeProgram(heading, 'python', join(folder, 'transfer.py'))
  await expectTransfer(folder, [python, 'transfer.py'])
  return models.length
}

describe('the generated Python client', needs(hasPython, 'Python 3.10 is not installed'), () => {
  test('openapi-python-client: every module imports, and the functions sign in and make a transfer', async () => {
    const section = await follow('Python functions')
    const models = await check(section, 'Python functions', 'portico_client')
    expect(models).toBeGreaterThan(200)
    expect(models).toBeLessThan(600)
  })

  test(
    'openapi-generator: every module imports, and the classes sign in and make a transfer',
    needs(hasJava, 'Java is not installed'),
    async () => {
      const section = await follow('Python classes')
      await check(section, 'Python classes', 'client/portico_client')
    },
  )
})
