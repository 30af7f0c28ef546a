import type { z } from 'zod'
import type { EventDeclaration } from '../contract/events/event.ts'
import type { resources } from '../contract/resources.ts'
import type { OperationsOf, Plain } from './operation-types.ts'

/*
 * The published package replaces the declarations of this file by generated ones (scripts/client-package.ts). They have
 * the same types, a comment for each method, and a name for each schema.
 */

export type { MfaMethod as MfaMethodCode } from '../identity/mfa/contract.ts'

type Module = (typeof resources)[keyof typeof resources]
type Declared = Module extends infer M ? (M extends { events: infer E } ? E : never) : never
type TypeIn<E> = E extends unknown ? keyof E & string : never
type DataIn<E, Type extends string> =
  E extends Readonly<Record<Type, EventDeclaration<infer Data>>> ? Plain<z.output<Data>> : never

/** The data of each type of events. */
export type EventDataByType = { [Type in TypeIn<Declared>]: DataIn<Declared, Type> }

/** Methods of the CONSUMER portal. */
export interface ConsumerMethods extends OperationsOf<'consumer' | 'self', Module> {}

/** Methods of the SYSTEM portal. */
export interface SystemMethods extends OperationsOf<'system' | 'self', Module> {}

/** Methods for machines with an API key. */
export interface ApiMethods extends OperationsOf<'api', Module> {}

/** Methods for machines with an API key of operators. */
export interface SystemApiMethods extends OperationsOf<'systemApi', Module> {}
