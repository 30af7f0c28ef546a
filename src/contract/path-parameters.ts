import type { z } from 'zod'
import type { Code, Operation } from '../kernel/index.ts'
import { id } from './common.ts'

/** The declared form of a path parameter: an id, unless the operation declares another form. */
export const pathParameterSchema = ({ params }: Operation, name: string): z.ZodType<string> => params?.[name] ?? id

/** The code for a path parameter outside its declared form. */
export const codeForMalformedParam = ({ malformedParam, refuses }: Operation): Code =>
  malformedParam ?? (refuses.includes('RESOURCE.NOT_FOUND') ? 'RESOURCE.NOT_FOUND' : 'VALIDATION.INVALID_PARAMETER')
