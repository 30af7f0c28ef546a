/**
 * The texts of config/locales: refusal sentences, labels of coded values and other texts, in every language.
 * `createWords` in words.ts is the entry.
 */

export { createWords } from './words.ts'
