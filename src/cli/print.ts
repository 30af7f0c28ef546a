import { stdout } from 'node:process'
import { dump } from 'js-yaml'
import { buildOpenApiDocument } from '../compose/catalogue.ts'
import { storeName } from '../compose/store.ts'
import { inPackage, readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { codedFamilies, codes } from '../contract/index.ts'
import { createWords } from '../platform/i18n/index.ts'
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

export const openapi: Command = {
  name: 'openapi',
  summary: 'print the OpenAPI document of the interface',
  help: 'The same as GET /openapi.json of a running gateway.',
  options: {},
  run: async () => {
    const words = createWords({ directory: inPackage('config/locales'), codes, families: codedFamilies })
    stdout.write(`${JSON.stringify(await buildOpenApiDocument(words), null, 2)}\n`)
    return 0
  },
}
