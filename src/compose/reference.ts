import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { inPackage } from '../config/root.ts'
import { catalogue } from '../contract/index.ts'
import { fallbackLocale, type Words } from '../kernel/index.ts'
import { type JsonObject, openApiDocument, readExamples } from '../openapi/index.ts'

const Package = z.object({ version: z.string() })

/** The OpenAPI document of this very build, with the examples that the end-to-end tests have recorded. */
export const composeReference = (words: Words): JsonObject => {
  const { version } = Package.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8')))
  return openApiDocument(catalogue, {
    version,
    title: 'Portico',
    servers: ['/'],
    examples: readExamples(inPackage('docs/examples.json')),
    sentence: (code) => words.refusal(code, fallbackLocale),
  })
}
