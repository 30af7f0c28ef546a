import { stderr, stdout } from 'node:process'
import { identitySettings } from '../compose/identity.ts'
import { loadConfigured } from '../compose/loading.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { SigningKeys } from '../identity/index.ts'
import { createSecretBox } from '../platform/crypto/index.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import type { Command } from './command.ts'
import { withSpinner } from './progress.ts'
import { auditCommand, withExistingStore, withStore } from './store.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'apply pending schema migrations to the store',
  help: 'Several replicas can run it at the same time; a lock serializes them. `serve` also migrates when it starts.',
  options: {},
  run: async (_values, domains) => {
    const settings = loadConfiguration(readVariables())
    const { owners } = await loadConfigured(domains, settings)
    const done = await withStore(settings, (store) => withSpinner(stderr, 'migrating', () => store.migrate(owners)))
    stdout.write(done.length === 0 ? 'the schema is up to date\n' : `${done.join('\n')}\n`)
    return 0
  },
}

export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'create a new signing key for tokens; nobody is signed out',
  help: [
    'Publishes the new key for tokens.keyPublicationMs before it signs. The previous key verifies tokens until the last',
    'one has expired. Running gateways load the new key within tokens.keyRefreshMs. The embedded store can be used by one',
    'process only: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: {},
  run: async (_values, domains) => {
    const settings = loadConfiguration(readVariables())
    const { owners } = await loadConfigured(domains, settings)
    const kid = await withExistingStore(settings, async ({ database, migrate }) => {
      await migrate(owners)
      const secretBox = createSecretBox(settings.secretKey.reveal(), systemRandomness)
      const ports = { database, clock: systemClock, ids: systemIds, secretBox }
      const keys = new SigningKeys(ports, identitySettings(settings).tokens)
      return keys.rotate((tx, targetId) => auditCommand(tx, keysRotate.name, { targetId }))
    })
    stdout.write(`${kid}\n`)
    return 0
  },
}
