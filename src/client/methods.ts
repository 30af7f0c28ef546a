import type { resources } from '../contract/resources.ts'
import type { OperationsOf } from './operation-types.ts'

/*
 * The published package replaces the declarations of this file by generated ones (scripts/client-package.ts). They have
 * the same types, a comment for each method, and a name for each schema.
 */

export type { MfaMethod as MfaMethodCode } from '../identity/mfa/contract.ts'

type Module = (typeof resources)[keyof typeof resources]

/** Methods of the CONSUMER portal. */
export interface ConsumerMethods extends OperationsOf<'consumer' | 'self', Module> {}

/** Methods of the SYSTEM portal. */
export interface SystemMethods extends OperationsOf<'system' | 'self', Module> {}

/** Methods for machines with an API key. */
export interface ApiMethods extends OperationsOf<'api', Module> {}
