import type { CloudEvent, EventData, EventType } from '../../contract/events/event.ts'
import type { EventDataByType } from '../methods.ts'
import type { Plain } from '../operation-types.ts'

type DataOf<Type extends string> = Type extends keyof EventDataByType
  ? EventDataByType[Type]
  : Type extends EventType
    ? Plain<EventData<Type>>
    : never

type Union<Type> = Type extends string ? CloudEvent<Type, DataOf<Type>> : never

/**
 * An event. `event.type === 'transfer.completed'` narrows `event.data`. A newer gateway can send further types. Types of
 * additional domains are those in `PorticoEvents`.
 */
export type PorticoEvent<Type extends EventType | keyof EventDataByType = EventType | keyof EventDataByType> =
  Union<Type>
