import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { runIn, startIn } from './user.ts'

const guide = 'docs/guides/your-own-domain.md'

interface Block {
  language: string
  text: string
}

const blocks: Block[] = [...readFileSync(join(root, guide), 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
  ([, language = '', text = '']) => ({ language, text }),
)

/** A file begins with a comment that names it. */
const fileIn = ({ text }: Block): string | undefined => /^(?:\/\/|#) (\S+\.\w+)\n/.exec(text)?.[1]

/** The registry lacks the package under test. The tools have the versions of this clone. */
const installed = (script: string): string => {
  const { devDependencies } = manifest
  const tools = Object.entries(devDependencies).filter(([name]) => /^(typescript|vitest|@types\/node)$/.test(name))
  return tools
    .reduce((text, tool) => text.replace(` ${tool[0]}`, ` ${tool.join('@')}`), script)
    .replace(/^npm install portico$/m, `npm install ${inject('package').tarball}`)
}

const isServer = (block: Block): boolean => block.text === 'node main.ts\n'

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
        await mkdir(join(folder, dirname(file)), { recursive: true })
        await writeFile(join(folder, file), block.text)
        expect(await readdir(join(folder, dirname(file)))).toContain(file.split('/').at(-1))
      } else if (isServer(block)) {
        gateway = await startIn(folder, block.text.trim().split(' '))
        const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json()
        expect(Object.keys(paths['/web/v1/consumer/contacts']).sort()).toEqual(['get', 'post'])
        expect((await fetch(`${gateway.url}/docs`)).status).toBe(200)
      } else {
        expect(block.language).toBe('sh')
        const variables = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }
        const { code, stdout, stderr } = await runIn(folder, ['bash', '-ec', installed(block.text)], variables)
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
