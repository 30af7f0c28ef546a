/**
 * The texts of the gateway and of the domains in every language: refusals, labels of coded values and others. Start with
 * `createWords` in words.ts. Depends on the kernel only.
 */

export { createWords, readTexts } from './words.ts'
