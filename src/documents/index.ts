/*
 * Operations that an OpenAPI 3.1 document declares, for services in any language. Start reading with `read.ts`.
 * `json-schema.ts` converts the schemas: `keywords.ts` refuses keywords, and `evaluation.ts` checks values. `marks.ts`
 * defines `x-portico`. `slow-patterns.ts` refuses regular expressions that backtrack. `gateway.ts` compares a document
 * with the declarations of the gateway, and `texts.ts` selects the texts of a printed document.
 */
export { declarationsOf } from './gateway.ts'
export { readDocument } from './read.ts'
export { camelCase, skeletonOf } from './skeleton.ts'
export { slowPatternErrors } from './slow-patterns.ts'
export { foreignTexts } from './texts.ts'
