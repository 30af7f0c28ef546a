/**
 * The texts of assets/locales in every language: refusals, labels of coded values and others. Start with `createWords`
 * in words.ts. Depends on the kernel only.
 */

export { createWords, readTexts } from './words.ts'
