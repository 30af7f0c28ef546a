/*
 * The module `portico/testing`: a gateway for tests, and the tests that the policies of a domain imply. Start reading with
 * `start.ts`; `promises.ts` lists what is checked.
 */
export { promises, type TestFunctions } from './promises.ts'
export { type StartOptions, startPortico, type TestMail, type TestPortico } from './start.ts'
