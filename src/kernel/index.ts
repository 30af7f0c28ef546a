/*
 * The vocabulary that every other folder shares: operations and their policies, requests and replies, refusals, money,
 * time and ids. The kernel imports no other folder and runs in a browser. Start reading with `operation.ts`,
 * then `request.ts` for what a handler receives and `refusal.ts` for how it rejects a request.
 */
export * from './coded-values.ts'
export * from './codes.ts'
export * from './concurrency.ts'
export * from './json.ts'
export * from './locale.ts'
export * from './money.ts'
export * from './operation.ts'
export * from './operation.ts'
export * from './refusal.ts'
export * from './reply.ts'
export * from './request.ts'
export * from './scalars.ts'
export * from './scalars.ts'
export * from './scalars.ts'
