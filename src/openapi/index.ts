/*
 * Builds the OpenAPI 3.1 document from the contract, and reads the files of the reference page that shows it. Descriptions
 * that follow from a policy are written here; summaries and schemas are the contract's. Depends on the kernel and contract
 * files. Start reading with `document.ts`.
 */
export { openApiDocument } from './document.ts'
export { type Example, type Examples, readExamples } from './examples.ts'
export type { JsonObject } from './json.ts'
export { type PageFile, referencePageFiles, referencePolicy } from './reference-page.ts'
