import { stderr, stdout } from 'node:process'
import { databaseTarget } from '../compose/store.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { openDatabase } from '../platform/database/index.ts'
import type { Command } from './command.ts'
import { whileDrawn } from './progress.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'bring the schema of the store up to date',
  help: 'Replicas may run it at once: they take turns. `serve` does the same when it starts.',
  options: {},
  run: async ({ root }) => {
    const settings = loadConfiguration(readVariables(), root)
    const store = await openDatabase(databaseTarget(settings, () => undefined))
    try {
      const done = await whileDrawn(stderr, 'migrating', () => store.migrate())
      stdout.write(done.length === 0 ? 'the schema is up to date\n' : `${done.join('\n')}\n`)
    } finally {
      await store.close()
    }
    return 0
  },
}
