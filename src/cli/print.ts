import { stdout } from 'node:process'
import { dump } from 'js-yaml'
import { buildOpenApiDocument, wordsOf } from '../compose/catalogue.ts'
import { assertExtensionSettings, catalogueOf } from '../compose/extensions.ts'
import { storeName } from '../compose/store.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { loadExtensions } from '../extensions/index.ts'
import type { Command } from './command.ts'

export const configCheck: Command = {
  name: 'config check',
  summary: 'print the effective configuration, or all of its errors',
  help: '`store` is the database in use. Secrets are masked. Exit code 2 if the configuration is invalid.',
  options: {},
  run: async () => {
    const settings = loadConfiguration(readVariables())
    const extensions = await loadExtensions(settings.extensions)
    catalogueOf(extensions)
    assertExtensionSettings(extensions, settings)
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
    const extensions = await loadExtensions(loadConfiguration(readVariables()).extensions)
    const catalogue = catalogueOf(extensions)
    const words = wordsOf(catalogue, extensions)
    stdout.write(`${JSON.stringify(await buildOpenApiDocument(catalogue, words), null, 2)}\n`)
    return 0
  },
}
