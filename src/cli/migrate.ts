import { stderr, stdout } from 'node:process'
import { schemaOwners } from '../compose/migrations.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import type { Command } from './command.ts'
import { withSpinner } from './progress.ts'
import { withStore } from './store.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'bring the schema of the store up to date',
  help: 'Replicas may run it at once: they take turns. `serve` does the same when it starts.',
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    const done = await withStore(settings, (store) =>
      withSpinner(stderr, 'migrating', () => store.migrate(schemaOwners)),
    )
    stdout.write(done.length === 0 ? 'the schema is up to date\n' : `${done.join('\n')}\n`)
    return 0
  },
}
