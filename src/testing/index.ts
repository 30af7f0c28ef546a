/*
 * The module `portico/testing`: a gateway for tests, and the tests that the policies of a domain imply. Start reading
 * with `start.ts`; `promises.ts` lists the checks in `suites/`.
 */
export { type PromiseOptions, promises } from './promises.ts'
export type { NodeTestFunctions, TestFunctions, VitestFunctions } from './runner.ts'
export {
  type StartOptions,
  type StepUpClient,
  type StepUpPurpose,
  startPortico,
  type TestClock,
  type TestMail,
  type TestPerson,
  type TestPortico,
} from './start.ts'
export type { Place, Sample, Samples } from './world.ts'
