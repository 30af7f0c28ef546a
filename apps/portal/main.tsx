import { startApp } from '../kit/app.tsx'
import { Portal } from './portal.tsx'

await startApp('/portal', <Portal />)
