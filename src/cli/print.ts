import { stdout } from 'node:process'
import { dump } from 'js-yaml'
import { buildOpenApiDocument } from '../compose/catalogue.ts'
import { storeName } from '../compose/store.ts'
import { inPackage, readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { bankingCatalogue } from '../contract/index.ts'
import { createWords } from '../platform/i18n/index.ts'
import type { Command } from './command.ts'

export const configCheck: Command = {
  name: 'config check',
  summary: 'print the effective configuration, or all of its errors',
  help: '`store` is the database in use. Secrets are masked. Exit code 2 if the configuration is invalid.',
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    stdout.write(dump(JSON.parse(JSON.stringify({ ...settings, store: storeName(settings) }))))
    return 0
  },
}

export const openapi: Command = {
  name: 'openapi',
  summary: 'print the OpenAPI document',
  help: 'The document that a running gateway serves at /openapi.json.',
  options: {},
  run: async () => {
    const { codes, codedFamilies } = bankingCatalogue
    const words = createWords({ directory: inPackage('config/locales'), codes, families: codedFamilies })
    stdout.write(`${JSON.stringify(await buildOpenApiDocument(bankingCatalogue, words), null, 2)}\n`)
    return 0
  },
}
