/*
 * Builds the OpenAPI 3.1 document from the contract, and reads the files of the reference page that shows it. The
 * descriptions that follow from a policy are in this folder. Summaries and schemas come from the contract. Start
 * reading with `document.ts`.
 */
export { openApiDocument } from './document.ts'
export { type Example, type Examples, readExamples } from './examples.ts'
export type { JsonObject } from './json.ts'
export { type PageFile, referencePageFiles, referencePolicy } from './reference-page.ts'
