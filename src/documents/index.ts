/*
 * Operations that an OpenAPI 3.1 document declares, for services in any language. Start reading with `read.ts`, which turns a
 * document into domains; `json-schema.ts` converts its schemas, and `marks.ts` has the shape of `x-portico`.
 */
export { readDocument } from './read.ts'
export { skeletonOf } from './skeleton.ts'
