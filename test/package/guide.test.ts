import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PorticoProcess } from '../harness/process.ts'
import { type Block, blocksOf, fileIn, runBlock, writeBlock } from './guide-steps.ts'
import { runIn, startIn } from './user.ts'

const guide = 'docs/guides/your-own-domain.md'

const blocks = blocksOf(guide)

function isServer(block: Block): boolean {
  return block.text === 'node --watch main.ts\n'
}

describe(guide, () => {
  let folder: string
  let gateway: PorticoProcess | undefined
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-guide-'))
  })
  afterAll(async () => {
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  // Each step uses the files of the previous ones.
  test.each(blocks.map((block) => ({ block, title: fileIn(block) ?? block.text.split('\n')[0] })))(
    'step: $title',
    async ({ block }) => {
      const file = fileIn(block)
      if (file !== undefined) {
        await writeBlock(folder, file, block)
        expect(await readdir(join(folder, dirname(file)))).toContain(file.split('/').at(-1))
      } else if (isServer(block)) {
        gateway = await startIn(folder, block.text.trim().split(' '))
        const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json()
        expect(Object.keys(paths['/web/v1/consumer/contacts']).sort()).toEqual(['get', 'post'])
        expect((await fetch(`${gateway.url}/docs`)).status).toBe(200)
      } else {
        expect(block.language).toBe('sh')
        const { code, stdout, stderr } = await runBlock(folder, block)
        expect(code, stdout + stderr).toBe(0)
      }
    },
  )

  test('a policy without a permission is a compile error at its line', async () => {
    const contract = readFileSync(join(folder, 'contract.ts'), 'utf8')
    const broken = contract.replace(", permission: 'contact:read'", '')
    await writeFile(join(folder, 'contract.ts'), broken)
    const { code, stdout } = await runIn(folder, ['npx', 'tsc', '--pretty', 'false'])
    const line = broken.split('\n').findIndex((text) => text.includes("'optional' }")) + 1
    expect([code, stdout]).toEqual([1, expect.stringContaining(`contract.ts(${line},`)])
  })
})
