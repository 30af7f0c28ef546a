import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configurationFile } from '../config/configuration-file.ts'
import { selfSigned } from '../harness/certificate.ts'

const { errorsOf, folder, load } = configurationFile()
selfSigned(folder, 'DNS:portico')
const text = ['identity-provider', 'keycloak'].map((page) => readFileSync(`docs/guides/${page}.md`, 'utf8')).join('\n')
const files = [...text.matchAll(/^```yaml\n# (\S+)\n(.*?)^```$/gms)].map(([, name = '', block = '']) => ({
  name,
  yaml: block.replace('/run/secrets/portico.pem', join(folder, 'key.pem')),
}))

test('the guides configure four providers', () => {
  expect(files.map(({ name }) => name)).toEqual(['entra.yaml', 'okta.yaml', 'google.yaml', 'keycloak.yaml'])
})

test.each(files)('$name is a valid configuration with one provider', ({ yaml, name }) => {
  expect(errorsOf(yaml)).toEqual([])
  const { portals } = load(yaml)
  const providers = Object.values(portals).flatMap(({ identityProviders = [] }) => identityProviders)
  expect(providers.map(({ id }) => `${id}.yaml`)).toEqual([name])
})
