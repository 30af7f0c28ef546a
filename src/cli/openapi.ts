import { stdout } from 'node:process'
import { buildOpenApiDocument } from '../compose/catalogue.ts'
import { inPackage } from '../config/package.ts'
import { codedFamilies, codes } from '../contract/index.ts'
import { createWords } from '../platform/i18n/index.ts'
import type { Command } from './command.ts'

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
