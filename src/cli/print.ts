import { stdout } from 'node:process'
import { dump } from 'js-yaml'
import { buildOpenApiDocument, mailTextsOf, wordsOf } from '../compose/catalogue.ts'
import { assertBackends, catalogueOf, parseSettings } from '../compose/extensions.ts'
import { loadConfigured } from '../compose/loading.ts'
import { storeName } from '../compose/store.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration, Secret } from '../config/index.ts'
import { isRecord } from '../kernel/index.ts'
import type { Command } from './command.ts'

/** Masks every text, because Portico does not know which settings of an extension are secret. */
const maskTexts = (value: unknown): unknown => {
  if (typeof value === 'string') return new Secret(value)
  if (Array.isArray(value)) return value.map(maskTexts)
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskTexts(each)]))
    : value
}

export const configCheck: Command = {
  name: 'config check',
  summary: 'print the effective configuration, or all of its errors',
  help: '`store` is the database in use. Secrets are masked, and so are all texts in `domains`. Exit code 2 if the configuration is invalid.',
  options: {},
  run: async (_values, domains) => {
    const settings = loadConfiguration(readVariables())
    const { domains: loaded } = await loadConfigured(domains, settings)
    const catalogue = catalogueOf(loaded)
    wordsOf(catalogue, loaded)
    assertBackends(loaded, catalogue, settings)
    parseSettings(loaded, settings)
    await mailTextsOf(loaded)
    const printed = { ...settings, domains: maskTexts(settings.domains), store: storeName(settings) }
    stdout.write(dump(JSON.parse(JSON.stringify(printed))))
    return 0
  },
}

export const openapi: Command = {
  name: 'openapi',
  summary: 'print the OpenAPI document',
  help: 'The document that a gateway with this configuration serves at /openapi.json.',
  options: {},
  run: async (_values, domains) => {
    const { domains: loaded } = await loadConfigured(domains, loadConfiguration(readVariables()))
    const catalogue = catalogueOf(loaded)
    const words = wordsOf(catalogue, loaded)
    stdout.write(`${JSON.stringify(await buildOpenApiDocument(catalogue, words), null, 2)}\n`)
    return 0
  },
}
