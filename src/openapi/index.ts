export { openApiDocument } from './document.ts'
export { type Example, type Examples, readExamples } from './examples.ts'
export type { JsonObject } from './json.ts'
export { type PageFile, referencePageFiles, referencePolicy } from './reference-page.ts'
