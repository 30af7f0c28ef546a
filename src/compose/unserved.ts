import { type Configuration, placeOf } from '../config/index.ts'
import { isRoutable } from '../contract/index.ts'
import { domainOf } from '../kernel/index.ts'

/** Of operations without a handler in this process, those that no upstream serves either: they are answered 501. */
export const servedNowhere = (unserved: readonly string[], settings: Pick<Configuration, 'backends'>): string[] =>
  unserved.filter((id) => !isRoutable(domainOf(id)) || placeOf(settings, domainOf(id)) === 'in-process')
