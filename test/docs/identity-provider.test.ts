import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configurationFile } from '../config/configuration-file.ts'

const { errorsOf, load } = configurationFile()
const text = readFileSync('docs/guides/identity-provider.md', 'utf8')
const files = [...text.matchAll(/^```yaml\n# (\S+)\n(.*?)^```$/gms)].map(([, name = '', yaml = '']) => ({ name, yaml }))

test('docs/guides/identity-provider.md configures four providers', () => {
  expect(files.map(({ name }) => name)).toEqual(['entra.yaml', 'okta.yaml', 'google.yaml', 'keycloak.yaml'])
})

test.each(files)('$name is a valid configuration with one provider', ({ yaml, name }) => {
  expect(errorsOf(yaml)).toEqual([])
  const { portals } = load(yaml)
  const providers = Object.values(portals).flatMap(({ identityProviders = [] }) => identityProviders)
  expect(providers.map(({ id }) => `${id}.yaml`)).toEqual([name])
})
