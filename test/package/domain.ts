import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** `from` is the name of the package. */
function domainOf(name: string, from = 'portico'): string {
  return `
import { domain, Refusal } from '${from}'
import { member, operation, z } from '${from}/contract'

const read = operation({
  id: '${name}.read', method: 'GET', path: '/${name}', chains: ['consumer'], summary: 'Read ${name}',
  policy: { ...member, workspace: 'required', permission: '${name}:read' },
  query: z.strictObject({ refuse: z.enum(['yes', 'no']) }), body: 'none', reply: z.array(z.string()),
  refuses: ['STATE.CONFLICT'],
})
export default domain({
  name: '${name}',
  summary: 'Read ${name}.',
  operations: { ${name}Read: read },
  permissions: { workspace: { ${name}: ['read'] } },
  locales: new URL('./locales-of-${name}/', import.meta.url),
  create: () => ({
    handlers: {
      ${name}Read: async ({ query }) => {
        if (query.refuse === 'yes') throw new Refusal('STATE.CONFLICT')
        return ['${name}']
      },
    },
  }),
})
`
}

/** One operation, `GET /<name>?refuse=yes|no`. */
export async function writeDomain(folder: string, name: string, from?: string): Promise<void> {
  const texts = { permission: { [`${name}:read`]: { name: 'Read', description: 'Read' } } }
  await mkdir(join(folder, `locales-of-${name}`))
  // JSON is YAML.
  await writeFile(join(folder, `locales-of-${name}/en.yaml`), JSON.stringify(texts))
  await writeFile(join(folder, `${name}.js`), domainOf(name, from))
}
