import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Block, blocksOf, fileIn, runBlock, writeBlock } from './guide-steps.ts'
import { folderIn, runIn } from './user.ts'

const guide = 'docs/guides/publish-a-domain.md'

describe(guide, () => {
  let domain: string
  let user: string
  beforeAll(async () => {
    domain = await folderIn('development')
    user = await mkdtemp(join(tmpdir(), 'portico-published-'))
    await runIn(domain, ['npm', 'init', '-y'])
    await runIn(domain, ['npm', 'pkg', 'set', 'type=module'])
    for (const block of blocksOf('docs/guides/your-own-domain.md')) {
      const file = fileIn(block)
      if (file !== undefined) await writeBlock(domain, file, block)
    }
  })
  afterAll(() => rm(user, { recursive: true, force: true }))

  /** The last two steps belong to a project that uses the package. */
  const isOfUser = ({ text }: Block): boolean => text.startsWith('# portico.yaml') || text.startsWith('npm install')

  // Each step uses the files of the previous ones.
  test.each(blocksOf(guide).map((block) => ({ block, title: fileIn(block) ?? block.text.split('\n')[0] })))(
    'step: $title',
    async ({ block }) => {
      const folder = isOfUser(block) ? user : domain
      const file = fileIn(block)
      if (file !== undefined) {
        await writeBlock(folder, file, block)
        expect(await readFile(join(folder, file), 'utf8')).toBe(block.text)
        return
      }
      const text = block.text.replace(' @acme/contacts', ` ${join(domain, 'acme-contacts-1.0.0.tgz')}`)
      const { code, stdout, stderr } = await runBlock(folder, { ...block, text })
      expect(code, stdout + stderr).toBe(0)
    },
  )

  test('another project compiles against the contract, and its gateway has the operations', async () => {
    const program = `import { portico, bankingDomains } from 'portico'
      import contacts from '@acme/contacts'
      import { createContact } from '@acme/contacts/contract'
      const { paths } = await portico({ domains: [...bankingDomains, contacts] }).openapi()
      console.log(createContact.id, Object.keys(paths['/web/v1/consumer/contacts']).sort().join())`
    const { stdout, stderr } = await runIn(user, ['node', '--input-type=module', '-e', program])
    expect([stdout, stderr]).toEqual(['contacts.create get,post\n', ''])
  })
})
