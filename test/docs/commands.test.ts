import { execFile } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../harness/prepared.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'
import { type Documented, documented } from './documented.ts'
import { type ShellBlock, shellBlocks } from './shell-blocks.ts'

const run = promisify(execFile)
function isAbout(block: ShellBlock, { file, begins }: Documented): boolean {
  return block.file === file && block.script.startsWith(begins)
}

const blocks = shellBlocks()

test('every block of commands is accounted for, and nothing else is', () => {
  const edit = 'edit `documented` in test/docs/documented.ts'
  expect(
    blocks.filter((block) => !documented.some((each) => isAbout(block, each))),
    edit,
  ).toEqual([])
  expect(
    documented.filter((each) => !blocks.some((block) => isAbout(block, each))),
    edit,
  ).toEqual([])
})

describe('the commands of the documentation', () => {
  let gateway: PorticoProcess
  let store: Directory

  beforeAll(async () => {
    store = await seededDirectory()
    gateway = await startProcess({
      PORTICO_DATA_DIR: store.directory,
      LOG_LEVEL: 'silent',
      PORTICO_RATE_LIMIT_SCALE: '1000',
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })

  const here = (script: string): string =>
    script.replaceAll('http://127.0.0.1:8080', gateway.url).replaceAll('http://127.0.0.1:9090', gateway.operationsUrl)

  for (const block of blocks) {
    const known = documented.find((each) => isAbout(block, each))
    if (!known || !('prints' in known)) continue
    test(`${block.file}: ${known.begins}`, async () => {
      const script = here(block.script).trimEnd() + (known.adds?.(gateway) ?? '')
      const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
      const [PORT, OPS_PORT] = [gateway.url, gateway.operationsUrl].map((url) => new URL(url).port)
      const { stdout } = await run('bash', ['-ec', script], {
        cwd: root,
        env: { ...process.env, PATH, PORT, OPS_PORT },
      })
      expect(stdout).toMatch(known.prints)
    })
  }

  test('a tour that is refused does not ask whether the gateway runs, but says where the refusal is explained', async () => {
    const at = ['--url', gateway.url, '--operations', gateway.operationsUrl]
    const tour = run(process.execPath, ['scripts/tour.ts', ...at, '--email', 'nobody@demo.test'], { cwd: root })
    const { stderr } = await tour.then(
      () => expect.fail('it was not refused'),
      (error: { stderr: string }) => error,
    )
    const [explained] = /http:\S+\/explain\/\S+/.exec(stderr) ?? []
    expect(stderr).toContain('AUTH.INVALID_CREDENTIALS')
    expect(stderr).not.toContain('running')
    expect(await (await fetch(explained ?? '')).json()).toMatchObject([{ code: 'AUTH.INVALID_CREDENTIALS' }])
  })
})
