import { stdout } from 'node:process'
import { dump } from 'js-yaml'
import { storeName } from '../compose/store.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import type { Command } from './command.ts'

export const configCheck: Command = {
  name: 'config check',
  summary: 'print the effective configuration, or every fault of it',
  help: '`store` names the database that is used. Secrets are masked. Exit code 2 when anything is wrong.',
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    stdout.write(dump(JSON.parse(JSON.stringify({ ...settings, store: storeName(settings) }))))
    return 0
  },
}
