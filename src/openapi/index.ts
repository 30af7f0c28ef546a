/*
 * Builds the OpenAPI 3.1 document from the contract, and reads the files of its reference page. Descriptions of
 * policies are in this folder, summaries and schemas in the contract. `service/` builds the document of a service behind
 * the gateway, `postman/` a collection, and `events/` the webhooks. Start reading with `document.ts`.
 */
export { openApiDocument } from './document.ts'
export { type Example, type Examples, readExamples, withoutTexts, withValues } from './examples.ts'
export type { JsonObject } from './json.ts'
export { postmanCollection } from './postman/collection.ts'
export { type PageFile, referencePageFiles, referencePolicy } from './reference-page.ts'
export { serviceDocument } from './service/document.ts'
