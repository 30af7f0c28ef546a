import { inPackage, packageVersion } from '../config/root.ts'
import { catalogue } from '../contract/index.ts'
import { fallbackLocale, type Words } from '../kernel/index.ts'
import { type JsonObject, openApiDocument, readExamples } from '../openapi/index.ts'

/** The OpenAPI document of this very build, with the examples that the end-to-end tests have recorded. */
export const composeReference = (words: Words): Promise<JsonObject> =>
  openApiDocument(catalogue, {
    version: packageVersion(),
    examples: readExamples(inPackage('docs/examples.json')),
    sentence: (code) => words.refusal(code, fallbackLocale),
  })
