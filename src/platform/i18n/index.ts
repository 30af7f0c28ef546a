/**
 * The texts of config/locales: refusal sentences, labels of coded values and other texts, in every language. Start with
 * `createWords` in words.ts. Depends on the kernel only.
 */

export { createWords, readTexts } from './words.ts'
