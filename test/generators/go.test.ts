import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { expectTransfer, follow, isInstalled, runSuccessfully, writeProgram } from './guide.ts'

const hasGo = isInstalled(['go', 'version'], ['java', '-version'], ['mvn', '-version'])
const maxNameLength = 60

test(
  'openapi-generator: the Go client compiles, signs in and makes a transfer, and its types have short names',
  needs(hasGo, 'Go, Java or Maven is not installed'),
  async () => {
    const { folder } = await follow('Go')
    const client = join(folder, 'client')
    const sources = (await readdir(client)).filter((name) => name.endsWith('.go'))
    const texts = await Promise.all(sources.map((name) => readFile(join(client, name), 'utf8')))
    const types = [...texts.join('\n').matchAll(/^type (\w+)/gm)].map(([, name = '']) => name)
    expect(types.length).toBeGreaterThan(200)
    expect(types.filter((name) => name.length > maxNameLength)).toEqual([])
    await mkdir(join(client, 'cmd/transfer'), { recursive: true })
    await writeProgram('Go', 'go', join(client, 'cmd/transfer/main.go'))
    await runSuccessfully(client, ['go', 'build', '-o', '../transfer', './cmd/transfer'])
    await expectTransfer(folder, ['./transfer'])
  },
)
