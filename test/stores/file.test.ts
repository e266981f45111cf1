import { storeContract } from "./contract.ts";
import { newHome, storeAt } from "./given.ts";

storeContract({ name: "file", make: (now) => storeAt(newHome(), { now }) });
