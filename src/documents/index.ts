/*
 * Operations that an OpenAPI 3.1 document declares, for services in any language. Start reading with `read.ts`.
 * `json-schema.ts` converts the schemas, and `marks.ts` defines `x-portico`.
 */
export { readDocument } from './read.ts'
export { skeletonOf } from './skeleton.ts'
