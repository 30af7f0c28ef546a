/*
 * Types that every folder shares: operations, policies, requests, replies, refusals, money, time and ids. The kernel
 * imports no other folder and runs in a browser. Start reading with `operation.ts`, then `request.ts` and `refusal.ts`.
 */
export * from './call-site.ts'
export * from './coded-values.ts'
export * from './codes.ts'
export * from './concurrency.ts'
export * from './json.ts'
export * from './locale.ts'
export * from './money.ts'
export * from './operation.ts'
export * from './recovery.ts'
export * from './refusal.ts'
export * from './reply.ts'
export * from './request.ts'
export * from './scalars.ts'
export * from './step-up.ts'
