/*
 * The interface as an OpenAPI 3.1 document, derived from the contract, and the reference page that shows it. Texts that a
 * policy implies are written here; summaries and schemas come from the contract. Start reading with `document.ts`.
 */
export { openApiDocument } from './document.ts'
export { type Example, type Examples, readExamples } from './examples.ts'
export type { JsonObject } from './json.ts'
export { type PageFile, referencePageFiles, referencePolicy } from './reference-page.ts'
