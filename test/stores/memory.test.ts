import { openMemoryStore } from "../../src/stores/memory.ts";
import { storeContract } from "./contract.ts";

storeContract({ name: "memory", make: (now) => openMemoryStore({ host: "testhost", pid: process.pid, now }) });
