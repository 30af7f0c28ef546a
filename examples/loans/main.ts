/* Starts a gateway with Portico's own domains and loans. */
import { bankingDomains, portico } from 'portico'
import loans from './index.ts'

await portico({ domains: [...bankingDomains, loans] }).serve()
